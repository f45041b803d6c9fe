import { createAgent } from '../src/create-agent.ts'
import { definePlugin } from '../src/plugins/plugin.ts'
import { withTextTools } from '../src/plugins/text-tools/with-text-tools.ts'
import { createMemoryStore } from '../src/sessions/memory-store.ts'
import { createSession } from '../src/sessions/session.ts'
import { createWorkflow } from '../src/workflow/workflow.ts'
import { echo, freeProvider, type Shape } from './floor.ts'
import { compare, measure, type Result } from './measure.ts'

/** What the plugin layer adds to the engine below it, and text-mode tools to a stream. */
export async function workflow(): Promise<Result[]> {
  return [...(await perRound()), ...(await overTime()), ...(await perDelta())]
}

const echoing = definePlugin({ toolId: 'echoing', displayName: 'Echo', description: 'Echoes.', tools: () => [echo] })
const definition = {
  id: 'bench',
  config: { prompts: [{ id: 'system', text: 'You echo.' }], plugins: [{ id: 'echoing', toolId: 'echoing' }] },
}

/** The engine with all that a workflow gives it: a session in a store, an authority. */
async function engine(shape: Shape): Promise<void> {
  const session = await createSession({ store: createMemoryStore() })
  const agent = createAgent({
    provider: freeProvider(shape),
    tools: { echo },
    session,
    system: 'You echo.',
    authority: { mode: 'yolo' },
  })
  await agent.run({ prompt: 'go' })
  await agent.destroy()
}

async function ours(shape: Shape): Promise<void> {
  const made = createWorkflow({ provider: freeProvider(shape), definitions: [definition], plugins: [echoing] })
  const { id } = await made.createAgent('bench')
  await made.sendMsgToAgent(id, 'go')
  await made.close()
}

async function perRound(): Promise<Result[]> {
  const shape = { turns: 50, deltas: 20, calls: 1 }
  const contenders = [
    { label: 'engine', run: () => engine(shape) },
    { label: 'workflow', run: () => ours(shape) },
  ]
  const [least, mine] = await measure(contenders, shape.turns)
  return [compare('round: 50 rounds of one call, against the engine alone', mine!, least!, 3, 'round')]
}

async function overTime(): Promise<Result[]> {
  const [few, many] = [
    { turns: 100, deltas: 1, calls: 1 },
    { turns: 1000, deltas: 1, calls: 1 },
  ]
  const [short] = await measure([{ label: 'few', run: () => ours(few) }], few.turns, 300)
  const [long] = await measure([{ label: 'many', run: () => ours(many) }], many.turns, 300)
  return [compare('round: of 1,000 rounds, against one of 100', long!, short!, 1.5, 'round')]
}

async function perDelta(): Promise<Result[]> {
  const shape = { turns: 1, deltas: 20_000, calls: 0 }
  const run = (provider: ReturnType<typeof freeProvider>) =>
    createAgent({ provider, tools: { echo } }).run({ prompt: 'go' })
  const contenders = [
    { label: 'plain', run: async () => void (await run(freeProvider(shape))) },
    { label: 'text tools', run: async () => void (await run(withTextTools(freeProvider(shape)))) },
  ]
  const [least, mine] = await measure(contenders, shape.deltas)
  return [compare('delta: 20,000 deltas through text-mode tools', mine!, least!, 5, 'delta')]
}
