import { defineCommand, type Flags, type Values } from '../command.ts'

const rpcFlags = {
  provider: { type: 'string', value: 'name', says: 'Whose model' },
  model: { type: 'string', value: 'name', says: 'Which model' },
  cwd: { type: 'string', value: 'folder', says: 'The folder to work in' },
  'api-key': { type: 'string', value: 'key', says: 'The key, in place of a stored one or one of the environment' },
  'base-url': { type: 'string', value: 'url', says: 'Where the service is' },
  'system-prompt': { type: 'string', value: 'text', says: 'What the model is told first, in place of the usual' },
  'append-system-prompt': { type: 'string', value: 'text', multiple: true, says: 'What it is told besides' },
  reasoning: { type: 'string', choices: ['low', 'medium', 'high'], says: 'How long it may think' },
  'max-steps': { type: 'string', value: 'n', min: 1, says: 'Model calls for one prompt at most; default 100' },
  tools: { type: 'string', value: 'names', says: 'Only these tools, with commas between their names' },
  'no-tools': { type: 'boolean', says: 'No tools at all' },
  mode: {
    type: 'string',
    choices: ['plan', 'ask', 'allowlist', 'yolo'],
    says: 'What may be done; default: what the settings say, else yolo',
  },
  mcp: { type: 'string', value: 'json', multiple: true, says: 'An MCP server, as JSON, as in libero run' },
  ext: {
    type: 'string',
    value: 'path',
    multiple: true,
    says: 'Understood, without effect: there are no extensions here',
  },
  'no-ext': { type: 'boolean', says: 'Understood: there are no extensions here' },
  'with-skills': { type: 'boolean', says: 'With the skills of the user and of a trusted project' },
  'no-skill': { type: 'boolean', says: 'Without skills, which is the default' },
  'no-yolo': { type: 'boolean', says: 'Understood, without effect, as in zot; see --mode' },
} as const satisfies Flags

/** The flags of `libero rpc`, as they were given. */
export type RpcValues = Values<typeof rpcFlags>

export const command = defineCommand({
  name: 'rpc',
  summary: 'Be driven by another program, over zot’s protocol',
  details: [
    'Reads commands from stdin and writes responses and events to stdout, one JSON object a line. One process is one folder, one conversation and one model at a time; nothing is stored. When stdin ends, what is under way is finished first. With ZOTCORE_RPC_TOKEN set, the first command has to be hello with that token.',
    'No person can be asked over this wire. In the mode yolo, the default where the settings name none, calls that a person would have to approve in every mode are denied; in the other modes a run halts where it would have asked, and the call gets an error as its result.',
  ],
  flags: rpcFlags,
  examples: [
    {
      line: `echo '{"id":"1","type":"prompt","message":"list the files here"}' | libero rpc --provider offline`,
      says: 'One prompt; the process ends when everything is written',
    },
    { line: 'libero rpc --provider deepseek --cwd ~/project --max-steps 40', says: 'As a program would start it' },
  ],
  helpOnUsageError: true, // as programs that were written for zot expect
  async run({ values }, io) {
    // Before anything else is loaded: whatever that says must not get between the frames.
    const { reserveStdout } = await import('../rpc/own-stdout.ts')
    const { frames, restore: giveBack } = reserveStdout(io)
    try {
      const { rpc } = await import('../rpc/rpc.ts')
      return await rpc(values, io, frames)
    } catch (error) {
      giveBack()
      throw error
    }
  },
})
