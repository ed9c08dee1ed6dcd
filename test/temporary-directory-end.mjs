export { removeTemporaryDirectory as default } from "./temporary-directory.mjs";
