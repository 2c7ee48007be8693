import { createRoot } from "react-dom/client";
import { Chat } from "./chat.jsx";

createRoot(document.getElementById("root")).render(<Chat />);
