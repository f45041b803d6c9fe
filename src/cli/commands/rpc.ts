import { defineCommand, type Flags, type Values } from '../command.ts'
import { runFlags } from './run.ts'

const rpcFlags = {
  provider: { type: 'string', value: 'name', says: 'The provider of the model' },
  model: { type: 'string', value: 'name', says: 'The model' },
  cwd: { type: 'string', value: 'folder', says: 'The folder to work in' },
  'api-key': { type: 'string', value: 'key', says: 'The API key, instead of a stored one or one in the environment' },
  'base-url': { type: 'string', value: 'url', says: 'The address of the service' },
  'system-prompt': { type: 'string', value: 'text', says: 'Replaces the default system prompt' },
  'append-system-prompt': { type: 'string', value: 'text', multiple: true, says: 'Added to the system prompt' },
  reasoning: { type: 'string', choices: ['low', 'medium', 'high'], says: 'How much the model thinks' },
  'max-steps': { type: 'string', value: 'n', min: 1, says: 'Maximum model calls per prompt; default 100' },
  tools: { type: 'string', value: 'names', says: 'Only these tools, separated by commas' },
  'no-tools': { type: 'boolean', says: 'No tools at all' },
  mode: {
    type: 'string',
    choices: ['plan', 'ask', 'allowlist', 'yolo'],
    says: 'Approval mode; default: from the settings, else yolo',
  },
  sandbox: runFlags.sandbox,
  mcp: { type: 'string', value: 'json', multiple: true, says: 'An MCP server as JSON, as in libero run' },
  ext: {
    type: 'string',
    value: 'path',
    multiple: true,
    says: 'Accepted without effect: there are no extensions here',
  },
  'no-ext': { type: 'boolean', says: 'Accepted without effect: there are no extensions here' },
  'with-skills': { type: 'boolean', says: 'Use the skills of the user and of a trusted project' },
  'no-skill': { type: 'boolean', says: 'Without skills, which is the default' },
  'no-yolo': { type: 'boolean', says: 'Accepted without effect, as in zot; see --mode' },
} as const satisfies Flags

/** The flags of `libero rpc`, as they were given. */
export type RpcValues = Values<typeof rpcFlags>

export const command = defineCommand({
  name: 'rpc',
  summary: 'Serve zot’s protocol to another program over stdin and stdout',
  details: [
    'Reads commands from stdin and writes responses and events to stdout, one JSON object per line. One process has one folder, one conversation and one model at a time; nothing is stored. When stdin ends, running work is finished first. If ZOTCORE_RPC_TOKEN is set, the first command must be hello with that token.',
    'This protocol has no questions to a person. In mode yolo, the default unless the settings name another, calls that need an approval in every mode are denied; in the other modes a run halts at the first call that needs an approval, and the call gets an error as its result.',
  ],
  flags: rpcFlags,
  examples: [
    {
      line: `echo '{"id":"1","type":"prompt","message":"list the files here"}' | libero rpc --provider offline`,
      says: 'One prompt; the process ends when all output is written',
    },
    { line: 'libero rpc --provider deepseek --cwd ~/project --max-steps 40', says: 'As a program would start it' },
  ],
  helpOnUsageError: true, // as programs that were written for zot expect
  async run({ values }, io) {
    // Before anything else is loaded: its output must not mix with the frames.
    const { reserveStdout } = await import('../rpc/reserve-stdout.ts')
    const { frames, restore } = reserveStdout(io)
    try {
      const { rpc } = await import('../rpc/rpc.ts')
      return await rpc(values, io, frames)
    } catch (error) {
      restore()
      throw error
    }
  },
})
