package server

import "net/http"

// HTTPServer is the server behind Serve, whose timeouts tests look at.
func (s *Server) HTTPServer() *http.Server { return s.http }
