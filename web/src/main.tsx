// The workspace page: a client of the venue's public HTTP API and nothing more.

import { render } from "preact";
import "./ui/style.css";
import "./ui/parts.css";
import "./ui/places.css";
import { begin } from "./api/session.js";
import { App } from "./app.js";
import { followLinks } from "./ui/router.js";

followLinks();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
void begin();
