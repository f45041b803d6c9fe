import type { Agent } from '../src/core/agent.ts'
import { failpoint } from '../src/core/log.ts'
import type { SessionStore } from '../src/core/store.ts'
import type { ReplayClass, ToolContext, ToolDef, ToolResult } from '../src/core/tool.ts'
import { textOf } from '../src/core/turn.ts'
import { createSpawnTool } from '../src/tools/spawn.ts'
import { entriesOf, type Note } from './evidence.ts'
import { takeEffect } from './ledger.ts'
import { sessionId } from './stores.ts'

export interface ToolEnvironment {
  readonly folder: string
  readonly writer: string
  readonly store: SessionStore
  readonly note: (note: Note) => void
  readonly epoch: () => number
  readonly agent: () => Agent
}

/** Tools of all replay classes that record their effects in the ledger. */
export function workerTools(environment: ToolEnvironment): Record<string, ToolDef> {
  const { store, note, agent } = environment
  const tools = [
    tool('look', 'pure', async () => {
      await pause(1)
      return 'seen'
    }),
    tool('pay', 'keyed', () => 'paid'),
    tool('send', 'opaque', async () => {
      await pause(1)
      return 'sent'
    }),
    tool('big', 'pure', () => 'x'.repeat(300 * 1024)),
    tool('nest', 'keyed', async (_, ctx) => {
      const paid = await ctx.call('pay', {})
      const sent = await ctx.call('send', {})
      return `${paid.output} and ${sent.output}`
    }),
    tool('ask', 'keyed', (_, ctx) => {
      const answer = ctx.log.transcript.answers.get(ctx.callId)
      return answer ? `heard: ${textOf({ role: 'user', content: answer })}` : ctx.suspend('a question')
    }),
    tool('deploy', 'opaque', () => 'deployed'),
    tool('speak', 'pure', async ({ mode, via }, ctx) => {
      const clientKey = `${mode}-${ctx.callId}`
      if (via === 'agent') await agent().steer('Look here!', { clientKey })
      else await store.send(sessionId, { mode, clientKey, content: [{ type: 'text', text: 'And then?' }] })
      note({ kind: 'ack', of: 'message', clientKey })
      return 'said'
    }),
    tool('compact', 'keyed', (_, ctx) => compact(store, ctx)),
    createSpawnTool(),
  ]
  return Object.fromEntries(tools.map((one) => [one.spec.name, one]))

  function tool(
    name: string,
    replay: ReplayClass,
    work: (input: { mode: 'steer' | 'followUp'; via: string }, ctx: ToolContext) => ToolResult | Promise<ToolResult>,
  ): ToolDef {
    return {
      spec: { name, description: name, inputSchema: { type: 'object', properties: {} } },
      replay,
      isConcurrencySafe: true,
      async execute(input, ctx) {
        const { callId, idempotencyKey: key, attempt } = ctx
        const session = ctx.session?.id ?? ''
        failpoint(`effect.before:${name}`)
        const call = { session, tool: name, callId, key, attempt, replay }
        const { pid } = process
        note({ kind: 'begin', pid, time: Date.now(), writer: environment.writer, epoch: environment.epoch(), ...call })
        if (replay === 'keyed') takeEffect(environment.folder, key)
        failpoint(`effect.after:${name}`)
        return work(input, ctx)
      },
    }
  }
}

/** Replaces the turns before the present one by a summary that tells the step of the plan. */
async function compact(store: SessionStore, { log }: ToolContext): Promise<string> {
  if (log.transcript.lastChange(0) === 'compaction') return 'compacted before'
  const turns = entriesOf(await store.read(sessionId), 'turn')
  const said = turns.filter(({ turn }) => turn.role === 'assistant')
  const toSeq = said.at(-1)!.seq - 1
  await log.append({
    type: 'compaction',
    toSeq,
    summary: [{ type: 'text', text: `Summary of ${said.length - 1} steps` }],
  })
  return 'compacted'
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
