"""The wind track of GEFCom2012, online: each block is forecast with what was known before it."""
