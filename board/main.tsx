import { render } from "preact";
import { Board } from "./board.tsx";
import { takeTokenFromAddress } from "./token.ts";

takeTokenFromAddress();
const place = document.getElementById("board");
if (place) render(<Board />, place);
