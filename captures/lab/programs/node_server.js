// Head and two pieces of body: node node_server.js PORT [nodelay]
const http = require('http');
const [port, option] = process.argv.slice(2);
http.createServer({ noDelay: option === 'nodelay', keepAliveTimeout: 60000 }, (request, response) => {
  response.writeHead(200, { 'Content-Length': 400 });
  response.write('x'.repeat(100));
  setImmediate(() => response.end('y'.repeat(300)));
}).listen(Number(port));
