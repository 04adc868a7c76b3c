import { expect, test } from "vitest";
import { errorResponse, preflightResponse, quote } from "../../../../src/services/http/access/request-handling.ts";

const COMMON = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, OPTIONS",
  "access-control-allow-headers": "Content-Type",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

test("an error is JSON with its status, the headers of every response, and those of its own", async () => {
  const response = errorResponse(401, "No.", { "WWW-Authenticate": "Bearer" });
  expect([response.status, await response.json()]).toEqual([401, { error: "No.", status: 401 }]);
  expect(Object.fromEntries(response.headers)).toMatchObject({ ...COMMON, "www-authenticate": "Bearer" });
});

test("a preflight request has an empty response that says what is allowed", async () => {
  const response = preflightResponse(true);
  expect([response.status, await response.text()]).toEqual([204, ""]);
  expect(Object.fromEntries(response.headers)).toEqual(COMMON);
  expect(preflightResponse(false).headers.get("access-control-allow-origin")).toBeNull();
});

test("a value is quoted in full, or its first 80 characters", () => {
  expect(quote('a "b"')).toBe('"a \\"b\\""');
  expect(quote("a".repeat(80))).toBe(`"${"a".repeat(80)}"`);
  expect(quote("a".repeat(81))).toBe(`"${"a".repeat(80)}…"`);
});
