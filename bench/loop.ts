import { createAgent } from '../src/create-agent.ts'
import { echo, floor, freeProvider, type Shape } from './floor.ts'
import { compare, measure, median, type Result } from './measure.ts'

type Handlers = NonNullable<Parameters<typeof createAgent>[0]['hooks']>

/** What the loop itself costs, with the memory log on and everything a plain `createAgent` brings. */
export async function loop(): Promise<Result[]> {
  return [...(await perTurn()), ...(await perDelta()), ...(await perCall()), ...(await overTime())]
}

async function ours(shape: Shape, hooks: Handlers = {}): Promise<void> {
  await createAgent({ provider: freeProvider(shape), tools: { echo }, hooks }).run({ prompt: 'go' })
}

/** The same with arguments in one piece, to show what a call costs by itself. No goal: see decision 0007. */
async function alone(unit: string, shape: Shape, units: number): Promise<void> {
  const contenders = [
    { label: 'floor', run: () => floor(shape) },
    { label: 'ours', run: () => ours(shape) },
  ]
  const [least, mine] = await measure(contenders, units)
  const ratio = (mine! / least!).toFixed(2)
  console.log(`     ${unit}, arguments in one piece: ${ratio}x, ${mine!.toFixed(2)} against ${least!.toFixed(2)} µs`)
}

async function perTurn(): Promise<Result[]> {
  const shape = { turns: 50, deltas: 20, calls: 1 }
  const contenders = [
    { label: 'floor', run: () => floor(shape) },
    { label: 'ours', run: () => ours(shape) },
  ]
  const [least, mine] = await measure(contenders, shape.turns)
  await alone('turn', { ...shape, pieces: 'bare' }, shape.turns)
  return [compare('turn: 50 turns, one call and 20 deltas each', mine!, least!, 4, 'turn')]
}

async function perDelta(): Promise<Result[]> {
  const shape = { turns: 1, deltas: 20_000, calls: 0 }
  const contenders = [
    { label: 'floor', run: () => floor(shape) },
    { label: 'ours', run: () => ours(shape) },
    { label: 'with handler', run: () => ours(shape, { 'stream:text': () => {} }) },
  ]
  const [least, mine, heard] = await measure(contenders, shape.deltas)
  return [
    compare('delta: 20,000 deltas, no handler', mine!, least!, 2, 'delta'),
    compare('delta: 20,000 deltas, one handler', heard!, least!, 3, 'delta'),
  ]
}

async function perCall(): Promise<Result[]> {
  const shape = { turns: 2, deltas: 0, calls: 50 }
  const contenders = [
    { label: 'floor', run: () => floor(shape) },
    { label: 'ours', run: () => ours(shape) },
  ]
  const [least, mine] = await measure(contenders, shape.calls)
  await alone('call', { ...shape, pieces: 'bare' }, shape.calls)
  return [compare('call: 50 tool calls in one turn', mine!, least!, 3, 'call')]
}

/** Whether a turn costs the same late in a long run as at its start. */
async function overTime(): Promise<Result[]> {
  const shape = { turns: 800, deltas: 20, calls: 1 }
  const firsts: number[] = []
  const lasts: number[] = []
  for (let round = 0; round < 24; round++) {
    const marks: number[] = []
    const cpu = (): number => {
      const { user, system } = process.cpuUsage()
      return user + system
    }
    const agent = createAgent({ provider: freeProvider(shape), tools: { echo } })
    agent.hooks.hook('turn:after', ({ turn }) => {
      if (turn === 1 || turn === 50 || turn === 750 || turn === 799) marks.push(cpu())
    })
    await agent.run({ prompt: 'go' })
    if (round < 4) continue // the compiler is still at work
    firsts.push((marks[1]! - marks[0]!) / 49)
    lasts.push((marks[3]! - marks[2]!) / 49)
  }
  return [compare('long run: last 50 of 800 turns against the first 50', median(lasts), median(firsts), 1.3, 'turn')]
}
