import { aroundEach } from "vitest";
import { runAs } from "./running-test.ts";

aroundEach((runTest, { signal }) => runAs(signal, runTest));
