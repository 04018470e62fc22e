from clearwatt.service.rates import SPAN, Rate


def test_the_rate_is_that_of_the_last_minute():
    now = [100.0]
    rate = Rate(clock=lambda: now[0])
    assert rate.per_second == 0
    rate.add(30)
    rate.add(30)
    assert rate.per_second == 60
    now[0] += 10
    assert rate.per_second == 6
    now[0] += 45
    rate.add(50)
    now[0] += 10
    assert rate.per_second == 50 / SPAN
    now[0] += 2 * SPAN
    assert rate.per_second == 0
