// The workspace page: a client of the venue's public HTTP API and nothing more.

import { render } from "preact";
import "./ui/style.css";
import "./ui/parts.css";
import "./ui/places.css";
import { begin, session, signInProblem } from "./api/session.js";
import { followVersion } from "./api/version.js";
import { App } from "./app.js";
import { signInOver } from "./sign-in.js";
import { followLinks } from "./ui/router.js";

followLinks();
followVersion();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
await begin();
// After a link that no longer works, public access may still open the page: show the failure all the same.
if (signInProblem.value !== "" && session.value === "ready") signInOver();
