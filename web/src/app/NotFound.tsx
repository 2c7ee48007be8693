import { Link } from "@tanstack/react-router";
import { Empty } from "../ui/Empty";
import { useWords } from "../words/words";

export function NotFound() {
  const words = useWords();
  return <Empty title={words.app.notFound}><Link to="/app/chat/{-$threadId}" params={{}}>{words.app.home}</Link></Empty>;
}
