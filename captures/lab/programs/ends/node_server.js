// Head and pieces of a body, with work between some: node_server.js PORT SEED
const http = require('http');
const [port, seed] = process.argv.slice(2);
let state = [...seed].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
http.createServer({ keepAliveTimeout: 60000 }, (request, response) => {
  let left = 1 + Math.floor(random() * 4);
  const piece = () => {
    if (!left--) return response.end();
    response.write('x'.repeat(4 + random() * 300));
    return random() < 0.3 ? setTimeout(piece, random() * 80) : setImmediate(piece);
  };
  piece();
}).listen(Number(port));
