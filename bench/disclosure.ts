import { createAgent } from '../src/create-agent.ts'
import { scripted } from '../src/testing/scripted.ts'
import { apiServers, type Sizes, serverTools, smallServers } from './disclosure-tools.ts'
import type { Result } from './measure.ts'

/** What 200 tools of five servers cost before the first prompt: found on demand, against all schemas at once. */
export async function disclosure(): Promise<Result[]> {
  return [
    report('bytes of 200 lazy tools, schemas of 1 to 3 KB', await promptBytes(apiServers), goals.large),
    report('bytes of 200 lazy tools, schemas of 85 to 648 bytes', await promptBytes(smallServers), goals.small),
  ]
}

/**
 * A model can only look for what it knows of, so the catalogue has the name and one line of every tool, whatever that
 * costs. Where a tool's whole definition is a few hundred bytes, its line is a larger part of it: a twentieth, which was
 * the goal for both, left no room for descriptions there.
 */
export const goals = { large: 0.05, small: 0.25 }

export interface PromptBytes {
  readonly eager: number
  readonly lazy: number
}

/** The first request, as JSON: its tools, and what its system prompt says of them. */
export async function promptBytes(sizes: Sizes): Promise<PromptBytes> {
  const [eager, lazy] = await Promise.all((['eager', 'lazy'] as const).map((mode) => firstRequest(sizes, mode)))
  return { eager: eager!, lazy: lazy! }
}

async function firstRequest(sizes: Sizes, toolDisclosure: 'eager' | 'lazy'): Promise<number> {
  const provider = scripted('done')
  await createAgent({ provider, tools: serverTools(sizes), behavior: { toolDisclosure } }).run({ prompt: 'go' })
  const { tools, system } = provider.requests[0]!
  return Buffer.byteLength(JSON.stringify(tools)) + Buffer.byteLength(system)
}

function report(name: string, { eager, lazy }: PromptBytes, goal: number): Result {
  const value = Number((lazy / eager).toFixed(4))
  const result = { name, value, goal, ok: value <= goal }
  const mark = result.ok ? 'ok  ' : 'MISS'
  console.log(
    `${mark} ${name.padEnd(52)} ${value.toFixed(3).padStart(6)}x (goal ${goal}x)  ${lazy} against ${eager} bytes`,
  )
  return result
}
