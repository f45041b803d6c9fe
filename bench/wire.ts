import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from '../scripts/build.ts'
import type { Message } from '../src/core/turn.ts'
import { createAgent } from '../src/create-agent.ts'
import { defaultTransport } from '../src/platform/http.ts'
import { BodyBuilder } from '../src/providers/body.ts'
import { anthropic } from '../src/providers/services/anthropic.ts'
import { anthropicMessages } from '../src/providers/wires/anthropic-messages.ts'
import { echo } from './floor.ts'
import { compare, longWarmUpMs, measure, median, type Result } from './measure.ts'
import { appendFloor, naiveFloor } from './wire-floor.ts'

/** What a provider costs on top of the loop: over loopback HTTP, with the other end in a process of its own. */
export async function wire(): Promise<Result[]> {
  const server = fork(fileURLToPath(new URL('wire-server.ts', import.meta.url)), { stdio: 'inherit' })
  try {
    const port = await new Promise<number>((resolve) => server.once('message', (port) => resolve(port as number)))
    const at = `http://127.0.0.1:${port}`
    return [
      ...(await perTurn(at)),
      ...(await perDelta(at)),
      ...(await longRun(at)),
      ...(await bodyOfTurn800()),
      ...(await fromTheBuild(at)),
    ]
  } finally {
    await end(server)
  }
}

let conversations = 0
const play = (at: string, turns: number, deltas: number, perChunk = 1000): string =>
  `${at}/${++conversations}/${turns}/${deltas}/${perChunk}`

/** Connections are kept from one conversation to the next, as `fetch` keeps those of the floors. */
const transport = defaultTransport()

async function ours(url: string, hooks = {}): Promise<void> {
  const provider = anthropic({ apiKey: 'bench', baseURL: url, defaultModel: 'bench-1', transport })
  await createAgent({ provider, system: 'You are a bench.', tools: { echo }, hooks }).run({ prompt: 'go' })
}

async function perTurn(at: string): Promise<Result[]> {
  const contenders = [
    { label: 'naive', run: () => naiveFloor({ url: play(at, 50, 20) }) },
    { label: 'append', run: () => appendFloor({ url: play(at, 50, 20) }) },
    { label: 'ours', run: () => ours(play(at, 50, 20)) },
  ]
  const [naive, append, mine] = await measure(contenders, 50, 500, longWarmUpMs)
  note('turn, against bodies that grow by appending', mine!, append!, 'turn')
  return [compare('http turn: 50 turns, one call and 20 deltas each', mine!, naive!, 1, 'turn')]
}

async function perDelta(at: string): Promise<Result[]> {
  const results: Result[] = []
  for (const perChunk of [1, 64]) {
    const url = (): string => play(at, 1, 20_000, perChunk)
    const contenders = [
      { label: 'naive', run: () => naiveFloor({ url: url(), onText: () => {} }) },
      { label: 'ours', run: () => ours(url(), { 'stream:text': () => {} }) },
    ]
    const [naive, mine] = await measure(contenders, 20_000, 600)
    results.push(compare(`http delta: 20,000 deltas, ${perChunk} to a chunk`, mine!, naive!, 1.5, 'delta'))
  }
  return results
}

async function longRun(at: string): Promise<Result[]> {
  const samples = { naive: [] as number[], ours: [] as number[], first: [] as number[], last: [] as number[] }
  for (let round = 0; round < 6; round++) {
    const before = cpu()
    await naiveFloor({ url: play(at, 800, 20) })
    const between = cpu()
    const marks: number[] = []
    await ours(play(at, 800, 20), {
      'turn:after': ({ turn }: { turn: number }) => {
        if (turn === 1 || turn === 50 || turn === 750 || turn === 799) marks.push(cpu())
      },
    })
    if (round < 2) continue // the compiler is still at work
    samples.naive.push((between - before) / 800)
    samples.ours.push((cpu() - between) / 800)
    samples.first.push((marks[1]! - marks[0]!) / 49)
    samples.last.push((marks[3]! - marks[2]!) / 49)
  }
  const { naive, ours: mine, first, last } = samples
  return [
    compare('http long run: 800 turns', median(mine), median(naive), 0.35, 'turn'),
    compare('http long run: last 50 of 800 turns against the first 50', median(last), median(first), 1.5, 'turn'),
  ]
}

const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** One request late in a session: two messages are new, the others have been sent before. */
async function bodyOfTurn800(): Promise<Result[]> {
  const fields = { model: 'bench-1', max_tokens: 16_384, stream: true, system: 'You are a bench.' }
  const wire = anthropicMessages()
  const naive = growing((messages) => {
    const json = messages.flatMap((message) => wire.writeMessage(message).map((item) => item.json))
    new TextEncoder().encode(JSON.stringify({ ...fields, messages: json }))
  })
  const book = new BodyBuilder(wire)
  const ours = growing((messages) => book.build(fields, [], messages, [messages.length - 1]))
  const contenders = [
    { label: 'naive', run: naive },
    { label: 'ours', run: ours },
  ]
  contenders.push({
    label: 'made anew',
    run: growing((messages) => book.build(fields, [], [...messages], [messages.length - 1])),
  })
  const [least, mine, anew] = await measure(contenders, 1)
  note('body of turn 800, its list made anew by a hook', anew!, least!, 'body')
  return [compare('body of turn 800', mine!, least!, 0.1, 'body')]
}

/** A conversation around its 800th turn that grows with each call, and begins anew before it gets too long. */
function growing(build: (messages: readonly Message[]) => unknown): () => Promise<void> {
  const start = Array.from({ length: 1597 }, (_, i) => conversation(i))
  let messages = [...start]
  return async () => {
    if (messages.length > 1800) messages = [...start]
    messages.push(conversation(messages.length), conversation(messages.length + 1))
    build(messages)
  }
}

function conversation(i: number): Message {
  if (i === 0) return { role: 'user', content: [{ type: 'text', text: 'go' }] }
  const text = Array.from({ length: 20 }, (_, n) => ` word${n}`).join('')
  if (i % 2 === 0)
    return { role: 'user', content: [{ type: 'tool_result', callId: `call_${i - 1}`, output: `call ${i}` }] }
  const call = { type: 'tool_call', id: `call_${i}`, name: 'echo', input: { text: `call ${i}` } } as const
  return { role: 'assistant', content: [{ type: 'text', text }, call] }
}

/** Of what is published, in processes of their own: the memory of many agents, and how long it takes to be there. */
async function fromTheBuild(at: string): Promise<Result[]> {
  const root = fileURLToPath(new URL('..', import.meta.url))
  // Inside, because what is built finds its dependencies from where it lies.
  const out = mkdtempSync(join(root, 'node_modules/.bench-'))
  try {
    const problem = await build(out)
    if (problem !== undefined) throw new Error(problem)
    const script = (name: string, text: string): string => {
      const file = join(out, name)
      writeFileSync(file, text)
      return file
    }
    const from = (path: string): string => JSON.stringify(pathToFileURL(join(out, path)).href)
    const peakOf = (turns: number): number => {
      const agents = script(`agents-${turns}.mjs`, manyAgents(from, at, turns))
      const run = spawnSync(process.execPath, [agents], { encoding: 'utf8' })
      const megabytes = Number(run.stdout) / 1024
      if (run.stdout === '' || !Number.isFinite(megabytes)) throw new Error(`the agents failed: ${run.stderr}`)
      return megabytes
    }
    // The longer they talk, the more garbage lies about when the collector comes: no goal, see decision 0011.
    for (const turns of [5, 20])
      console.log(`     100 agents at once, ${turns} turns each: ${peakOf(turns).toFixed(0)} MB at the peak`)

    const spent = 'process.stdout.write(String(process.cpuUsage().user + process.cpuUsage().system))'
    const naive = readFileSync(new URL('wire-floor.ts', import.meta.url), 'utf8')
    const floor = script('floor.mjs', `${stripTypeScriptTypes(naive)}\n${spent}`)
    const both = `import ${from('index.js')}\nimport ${from('providers/index.js')}`
    const imported = script('import.mjs', `${both}\n${spent}`)
    const times: number[][] = [[], []]
    for (let round = 0; round < 15; round++)
      for (const [i, file] of [floor, imported].entries())
        times[i]!.push(Number(spawnSync(process.execPath, [file], { encoding: 'utf8' }).stdout))
    return [
      compare('100 agents at once, 3 turns each, against 120 MB', peakOf(3), 120, 1, 'MB at the peak'),
      compare('import of the root and of one provider', median(times[1]!), median(times[0]!), 1.5, 'start'),
    ]
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

const manyAgents = (from: (path: string) => string, at: string, turns: number): string => `
import { readFile } from 'node:fs/promises'
import { createAgent } from ${from('index.js')}
import { anthropic } from ${from('providers/index.js')}
const echo = { spec: { name: 'echo', description: 'Says it again.', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }, execute: ({ text }) => text }
await Promise.all(Array.from({ length: 100 }, (_, i) =>
  createAgent({ provider: anthropic({ apiKey: 'bench', baseURL: '${at}/many-${turns}-' + i + '/${turns}/20/1000', defaultModel: 'bench-1' }), tools: { echo } }).run({ prompt: 'go' })))
// Of this program alone: the counter of the operating system begins with what its parent had.
const peak = await readFile('/proc/self/status', 'utf8').then((text) => /VmHWM:\\s+(\\d+)/.exec(text)[1], () => process.resourceUsage().maxRSS)
process.stdout.write(String(peak))
process.exit()
`

function note(name: string, mine: number, floor: number, unit: string): void {
  console.log(
    `     ${name}: ${(mine / floor).toFixed(2)}x, ${mine.toFixed(2)} against ${floor.toFixed(2)} µs per ${unit}`,
  )
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.disconnect()
  await ended
}
