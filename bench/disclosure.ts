import { createAgent } from '../src/create-agent.ts'
import { scripted } from '../src/testing/scripted.ts'
import { apiServers, type Sizes, serverTools, smallServers } from './disclosure-tools.ts'
import type { Result } from './measure.ts'

/** What 200 tools of five servers cost before the first prompt: found on demand, against all schemas at once. */
export async function disclosure(): Promise<Result[]> {
  return [
    report('bytes of 200 lazy tools, schemas of 1 to 3 KB', await promptBytes(apiServers)),
    report('bytes of 200 lazy tools, schemas of 85 to 648 bytes', await promptBytes(smallServers)),
  ]
}

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

function report(name: string, { eager, lazy }: PromptBytes): Result {
  const value = Number((lazy / eager).toFixed(4))
  const result = { name, value, goal: 0.05, ok: value <= 0.05 }
  const mark = result.ok ? 'ok  ' : 'MISS'
  console.log(
    `${mark} ${name.padEnd(52)} ${value.toFixed(3).padStart(6)}x (goal 0.05x)  ${lazy} against ${eager} bytes`,
  )
  return result
}
