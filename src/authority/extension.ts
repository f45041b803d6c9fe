import type { HookContexts } from '../core/hook-map.ts'
import type { Extension, Run } from '../core/run.ts'
import { once } from '../core/waiting.ts'
import { auditCalls } from './audit/audit-calls.ts'
import type { Authority, AuthorityParts } from './authority.ts'
import type { Judged } from './gate.ts'
import { unconfinedNotice } from './unconfined-notice.ts'
import { useAnswers } from './use-answers.ts'

/** The authority as an extension: the first gate of an agent and its children. */
export function authorityExtension(
  authority: Authority,
  parts: AuthorityParts,
  { isShared = false }: { readonly isShared?: boolean } = {},
): Extension {
  const stages = parts.options.stateMachine?.extension(parts.audit)
  let unconfined: string | undefined
  let stopFinding: () => unknown = () => {}
  return {
    name: 'authority',
    async warmup(host) {
      const find = async (): Promise<void> => {
        const location = await host.openExecution?.()
        unconfined = location && (await unconfinedNotice(location, 'yolo'))
      }
      if (authority.mode === 'yolo') await find()
      stopFinding()
      parts.beforeYolo.add(find)
      stopFinding = () => parts.beforeYolo.delete(find)
    },
    stateEntries(run) {
      if (unconfined !== undefined && authority.mode === 'yolo') run.facts = { ...run.facts, unconfined }
      return []
    },
    async start(run, hooks) {
      await parts.ready()
      if (run.facts.depth === 0) await stages?.start?.(run, hooks)
      parts.limits.apply(run)
      hooks.hook('session:end', () => parts.limits.release(run))
      const gate = lazyGate(authority, parts, run)
      const audit = auditCalls(run, parts.audit)
      const answers = useAnswers(run, parts.used)
      hooks.hook('tool:gate', async (ctx) => {
        const judged = await gate(ctx).catch(async (error) => {
          if (run.cancellation.isCancelled) await audit.cancelled(ctx)
          throw error
        })
        if (!judged) return
        answers.bind(ctx, judged)
        await audit.decided(ctx, judged) // before anything runs; if it cannot be written, nothing does
        if (run.hooks.has('tool:decision')) await run.hooks.tell('tool:decision', decisionEvent(ctx, judged))
      })
      hooks.hook('tool:before', audit.started)
      hooks.hook('tool:after', audit.ended)
      hooks.hook('tool:after', answers.ended)
      hooks.hook('session:end', audit.left)
    },
    async dispose() {
      stopFinding()
      if (!isShared) await authority.close()
    },
  }
}

type Gate = (ctx: HookContexts['tool:gate']) => Promise<Judged | undefined>

/** Loads the gate on the first call: many runs have none, and it contains the shell parser. */
function lazyGate(authority: Authority, parts: AuthorityParts, run: Run): Gate {
  const load = once(async () => (await import('./gate.ts')).createGate(authority, parts, run))
  return async (ctx) => (await load())(ctx)
}

function decisionEvent(
  ctx: HookContexts['tool:gate'],
  { call, decision, approver }: Judged,
): HookContexts['tool:decision'] {
  const { turnId, callId, name, displayName, input, parentCallId } = ctx
  return {
    ...{ turnId, callId, name, displayName, input, decision },
    ...(parentCallId !== undefined && { parentCallId }),
    ...(call && { origin: call.origin, key: call.key, digest: call.digest }),
    ...(approver !== undefined && { approver }),
  }
}
