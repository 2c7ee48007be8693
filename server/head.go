package server

import "net/http"

// answerHead has HEAD answered as GET on the paths that monitors ask with it; net/http leaves out the body.
// Not on others: a GET may be a stream without an end.
func answerHead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			switch r.URL.Path {
			case "/", "/ok", livePath, readyPath, "/info", "/docs", "/openapi.json", "/metrics":
				r = r.WithContext(r.Context()) // a copy: the connection looks at the method, too
				r.Method = http.MethodGet
			}
		}
		next.ServeHTTP(w, r)
	})
}
