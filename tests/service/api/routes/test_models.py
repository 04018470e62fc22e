"""Model versions: roll-back, approval and rejection."""


def test_models_can_be_rolled_back_and_candidates_approved_or_rejected(learned):
    learned.put("/v1/zones/north/approval", {"required": True})
    rejected = next_candidate(learned, 320)
    assert learned.get(f"/v1/models/{rejected}")["status"] == "awaiting"
    learned.post(f"/v1/models/{rejected}/reject")
    learned.service.catch_up()
    assert learned.get(f"/v1/models/{rejected}")["status"] == "refused"
    assert learned.get("/v1/entities/e0")["predictor"] == "predictor:e0:0"
    approved = next_candidate(learned, 590)
    assert approved != rejected
    learned.post(f"/v1/models/{approved}/activate")
    learned.service.catch_up()
    assert learned.get("/v1/entities/e0")["predictor"] == approved
    learned.refused(409, "POST", f"/v1/models/{approved}/reject")
    learned.refused(409, "POST", f"/v1/models/{approved}/activate")
    learned.post("/v1/models/predictor:e0:0/activate")
    learned.service.catch_up()
    assert learned.get("/v1/entities/e0")["predictor"] == "predictor:e0:0"
    learned.refused(404, "POST", "/v1/models/predictor:e0:999/activate")
    learned.refused(422, "GET", "/v1/models/no-such-thing")


def next_candidate(web, start):
    """Send eleven days of readings and name the model of e0 that awaits approval after them."""
    web.service.weather(start, start + 300)
    web.service.send(start, start + 270)
    web.service.catch_up()
    entity = web.get("/v1/entities/e0")
    assert entity["state"] == "awaiting approval"
    return entity["candidate"]
