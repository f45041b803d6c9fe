import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createAgent } from '../src/create-agent.ts'
import { tracing } from '../src/otel/tracing.ts'
import { echo, freeProvider } from './floor.ts'
import { compare, measure, type Result } from './measure.ts'

/** What tracing costs an agent: nothing when it is off, little when no SDK listens. */
export async function otel(): Promise<Result[]> {
  const shape = { turns: 50, deltas: 20, calls: 1 }
  const run =
    (extensions: Parameters<typeof createAgent>[0]['extensions'] = []) =>
    async (): Promise<void> =>
      void (await createAgent({ provider: freeProvider(shape), tools: { echo }, extensions }).run({ prompt: 'go' }))
  const contenders = [
    { label: 'without', run: run() },
    { label: 'with', run: run([tracing()]) },
  ]
  const [without, traced] = await measure(contenders, shape.turns)
  return [compare('turn: traced without an SDK, against not traced', traced!, without!, 1.3, 'turn'), nothingLoaded()]
}

/** An agent that is not traced loads no file of OpenTelemetry. */
function nothingLoaded(): Result {
  const index = JSON.stringify(fileURLToPath(new URL('../src/index.ts', import.meta.url)))
  const script = `
    import { registerHooks } from 'node:module'
    let count = 0
    registerHooks({ load: (url, context, next) => (/opentelemetry|\\/otel\\//.test(url) && count++, next(url, context)) })
    const { createAgent } = await import(${index})
    const reply = { type: 'reply', content: [{ type: 'text', text: 'x' }], usage: {}, stop: 'end' }
    const provider = { meta: { name: 'inline', defaultModel: 'm' }, async *stream() { yield reply } }
    await createAgent({ provider }).run({ prompt: 'go' })
    console.log(count)
  `
  const args = ['--conditions=libero-source', '--input-type=module', '--eval', script]
  const value = Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  const result = { name: 'off: files of OpenTelemetry that are loaded', value, goal: 0, ok: value === 0 }
  console.log(`${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${value} (goal 0)`)
  return result
}
