import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Suspense } from "react";
import { RouterProvider } from "@tanstack/react-router";
import { ApiError } from "../api/request";
import { Announcements } from "../ui/Announcements";
import { WordsProvider } from "../words/words";
import { router } from "./routes";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 3 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Suspense>
        <WordsProvider>
          <Announcements>
            <RouterProvider router={router} />
          </Announcements>
        </WordsProvider>
      </Suspense>
    </QueryClientProvider>
  );
}
