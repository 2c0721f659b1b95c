// Starts what pages do beside being read.
import { startLive } from "/static/live.js";
import { startKeys } from "/static/keys.js";

startLive();
startKeys();
