// The TypeScript SDK's client of both eras, through the journey of clients.py. JOURNEY names the server and the era,
// standard output gets what was seen. Errors of the protocol are part of it; anything else ends it.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const given = JSON.parse(process.env.JOURNEY);
const transport = given.url
  ? new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers: given.headers } })
  : new StdioClientTransport({ command: given.command, args: given.arguments });
const mode = ['auto', 'legacy'].includes(given.mode) ? given.mode : { pin: given.mode };
const client = new Client({ name: 'judge-v2', version: '1.0.0' }, { versionNegotiation: { mode } });
await client.connect(transport);

const call = (name, args) => client.callTool({ name, arguments: args });
const codeOf = async (promise) => promise.then(() => null, (failure) => failure.code ?? String(failure));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const seen = {
  protocol: client.getNegotiatedProtocolVersion(),
  tools,
  created: (await call('canvas_create', { title: given.title, reason: 'judged' })).structuredContent,
  listed: (await call('canvas_list', {})).structuredContent,
  refused: await call('canvas_create', { title: 5 }),
  unknownTool: await codeOf(call('canvas_nothing', {})),
  resources: (await client.listResources()).resources.map((resource) => resource.uri),
  inbox: (await call('agent_inbox', {})).structuredContent,
  mailbox: (await client.readResource({ uri: 'nexus://mailbox' })).contents,
  unknownResource: await codeOf(client.readResource({ uri: 'nexus://nothing' })),
};
await client.close();
process.stdout.write(JSON.stringify(seen));
