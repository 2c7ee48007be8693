// Serves what openai-api-mock answers: it intercepts requests of its own process only.
import http from 'node:http'
import { mockOpenAIResponse } from 'openai-api-mock'

mockOpenAIResponse(true, { seed: 7 })

http
  .createServer(async (req, res) => {
    if (req.url === '/health') return res.end('ok')
    const body = []
    for await (const part of req) body.push(part)
    const answer = await fetch('https://api.openai.com' + req.url, {
      method: req.method,
      headers: { 'content-type': 'application/json', authorization: req.headers.authorization ?? '' },
      body: Buffer.concat(body),
    })
    res.writeHead(answer.status, Object.fromEntries(answer.headers))
    for await (const part of answer.body) res.write(part)
    res.end()
  })
  .listen(Number(process.env.PORT), '127.0.0.1')
