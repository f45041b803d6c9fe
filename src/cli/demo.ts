import { fileURLToPath } from 'node:url'
import type { AgentHookMap } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { Message } from '../core/turn.ts'
import { createAgent } from '../create-agent.ts'
import { createProcessContext } from '../execution/process.ts'
import { createSession } from '../sessions/session.ts'
import { call, scripted } from '../testing/scripted.ts'

const folder = 'docs/decisions'
const prompt = `Which decision in ${folder} is the longest, and what is it about?`

/** A whole run without a key or a network: the model is a script, the tools, the files and the log are real. */
export async function demo(out: NodeJS.WriteStream): Promise<void> {
  const paint = painter(out)
  const session = await createSession()
  const agent = createAgent({
    provider: scriptedModel(),
    session,
    execution: createProcessContext({ cwd: fileURLToPath(new URL('../..', import.meta.url)) }),
    system: 'Answer in one sentence.',
    tools: { listFiles, countWords },
    hooks: screen(out, paint),
  })

  out.write(`${paint.bold('libero')}  a scripted model, two real tools, a session in memory\n\n`)
  out.write(`${paint.cyan('you')}    ${prompt}\n`)
  const stats = await agent.run({ prompt })
  await agent.destroy()

  const { turns, totalIn, totalOut, elapsed } = stats
  out.write(`\n${paint.dim(`${turns} turns, ${totalIn} tokens in, ${totalOut} out, ${elapsed} ms.`)}\n`)
  out.write(`${paint.dim(`The session holds ${session.turns.length} turns in ${session.log.head} log entries.`)}\n\n`)
  out.write(`Next: ${paint.bold('npm run example examples/01-hello.ts')}, an agent in twenty lines.\n`)
}

const listFiles: ToolDef<{ path: string }> = {
  spec: {
    name: 'list_files',
    description: 'Lists the names in a folder.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
  isConcurrencySafe: true,
  replay: 'pure',
  effects: ['fs.read'],
  execute: async ({ path }, { execution, handle }) => (await execution.listFiles(handle, path)).join('\n'),
}

const countWords: ToolDef<{ path: string }> = {
  spec: {
    name: 'count_words',
    description: 'Counts the words of a file and shows its first line.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
  isConcurrencySafe: true,
  replay: 'pure',
  effects: ['fs.read'],
  async execute({ path }, { execution, handle }) {
    const text = await execution.readFile(handle, path)
    return `${text.split(/\s+/).length} words: ${text.split('\n')[0]}`
  },
}

/** What a model would do, written down. Each step looks at the real results that came back. */
function scriptedModel() {
  return scripted(
    { text: 'I will look at the folder first.', calls: [call('list', 'list_files', { path: folder })] },
    ({ messages }) => {
      const files = resultsIn(messages.at(-1)!)[0]!.split('\n')
      const calls = files.map((file, i) => call(`count-${i}`, 'count_words', { path: `${folder}/${file}` }))
      return { text: `${files.length} files. I will measure them all at once.`, calls }
    },
    ({ messages }) => {
      const counts = resultsIn(messages.at(-1)!)
      const longest = counts.toSorted((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10))[0] ?? ''
      const title = longest.replace(/^.*words: #?\s*/, '')
      return `The longest one has ${Number.parseInt(longest, 10)} words: “${title}”.`
    },
    { options: { model: 'script', chunk: 4 } },
  )
}

function resultsIn({ content }: Message): string[] {
  return content.flatMap((block) => (block.type === 'tool_result' ? [String(block.output)] : []))
}

/** Everything a person sees comes from hooks. */
function screen(out: NodeJS.WriteStream, paint: ReturnType<typeof painter>): AgentHookMap {
  return {
    'turn:before': ({ turn }) => void out.write(`${paint.green('model')}  ${paint.dim(`${turn}`)} `),
    'stream:text': ({ delta }) => void out.write(delta),
    'turn:after': () => void out.write('\n'),
    'tool:after': ({ displayName, input, result, outputBytes, isError }) => {
      const mark = isError ? paint.red('✗') : paint.green('✓')
      const called = `       ${mark} ${displayName}(${String(input.path)})  `
      const room = Math.max(16, (out.columns ?? 120) - called.length - 14)
      const shown = String(result).split('\n')[0]!.slice(0, room)
      out.write(`${called}${paint.dim(`${outputBytes} bytes: ${shown}`)}\n`)
    },
  }
}

/** Colours only where somebody can see them. */
function painter(out: NodeJS.WriteStream) {
  const isPlain = !out.isTTY || process.env.NO_COLOR !== undefined
  const colour = (code: number) => (text: string) => (isPlain ? text : `\u001b[${code}m${text}\u001b[0m`)
  return { bold: colour(1), dim: colour(2), red: colour(31), green: colour(32), cyan: colour(36) }
}
