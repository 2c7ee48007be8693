// Who else looks at a review.
import { test } from "node:test";
import { accessible, ask, newTab, openReview, request, server } from "./app.mjs";

const together = (tab) => request(tab).getByText("Somebody else is looking at this");

test("reviewers in two windows see that they look at the same, and when they are alone with it again", async (t) => {
  const { tab, review } = await openReview(t, await ask("human_in_the_loop", "Delete record P-1"));
  const other = await newTab(t);
  await other.goto(`${server}/reviews/${review.review_id}`);
  await together(other).waitFor();
  await together(tab).waitFor();
  await accessible(tab);
  await other.goto(`${server}/app/executions`);
  await together(tab).waitFor({ state: "detached" });
});
