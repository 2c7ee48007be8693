import "./tokens.css";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { adoptNonce } from "./app/nonce";
import { countIn } from "./chat/stream/tabs";
import { applyTheme } from "./app/theme";

adoptNonce();
applyTheme();
countIn();
createRoot(document.getElementById("root")!).render(<App />);
