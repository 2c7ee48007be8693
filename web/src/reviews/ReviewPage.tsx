import { getRouteApi, Link } from "@tanstack/react-router";
import { Page } from "../ui/Page";
import { useWords } from "../words/words";
import { ReviewRequest } from "./ReviewRequest";

const route = getRouteApi("/reviews/$reviewId");

export function ReviewPage() {
  const words = useWords();
  const { reviewId } = route.useParams();
  return (
    <Page title={words.review.title} back={<Link to="/reviews" search={{}}>‹ {words.review.back}</Link>}>
      <ReviewRequest key={reviewId} id={reviewId} />
    </Page>
  );
}
