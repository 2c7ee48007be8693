import "./tokens.css";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { adoptNonce } from "./app/nonce";
import { applyTheme } from "./app/theme";

adoptNonce();
applyTheme();
createRoot(document.getElementById("root")!).render(<App />);
