import { useState } from 'preact/hooks'
import { AgentActions } from '../agents/agent-actions.tsx'
import { AgentMessages } from '../agents/agent-messages.tsx'
import { AgentSettings } from '../agents/agent-settings.tsx'
import { PendingCards } from '../cards/pending-cards.tsx'
import type { ScreenProps } from '../frame/app.tsx'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { tokenRing, visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { Segments } from '../parts/segments.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { ScheduleList } from '../schedules/schedule-list.tsx'
import { Ring } from '../session/ring.tsx'
import '../agents/agents.css'

const parts = [
  ['messages', 'Messages'],
  ['settings', 'Settings'],
  ['schedules', 'Schedules'],
] as const

/** One agent: its messages, what of it waits, and its settings. */
export function AgentScreen({ route }: ScreenProps) {
  const id = route.screen === 'agent' ? route.id : ''
  const { client, sessions } = usePage()
  const head = useModel(sessions, (state) => headOf(state.sessions, id))
  const answer = useAnswer(() => client.agents.get(id), [id, head])
  const [part, setPart] = useState<(typeof parts)[number][0]>('messages')
  return (
    <section class="sheet">
      <Shown answer={answer} what="agents">
        {(agent) => (
          <>
            <div class="sheet-head">
              <div class="agent-head">
                <h1>{visibleName(agent.name ?? agent.id)}</h1>
                <p class="facts">
                  {[stateWords[agent.status.state], visibleName(agent.definitionId), agent.closed && 'closed']
                    .filter(Boolean)
                    .join(' · ')}
                  {' · '}
                  <Link to={{ screen: 'session', id, part: 'chat' }}>its session</Link>
                </p>
              </div>
              <AgentActions agent={agent} onChanged={answer.again} />
            </div>
            {agent.tokens && <Ring ring={tokenRing(agent.tokens)} />}
            <PendingCards
              calls={agent.pending.map(({ approvalId, sessionId, reason = '', ...call }) => ({
                ...{ ...call, reason, session: sessionId, root: id },
                agent: { id, approvalId, onAnswered: answer.again },
              }))}
            />
            <Segments label="Part" values={parts} value={part} onChange={setPart} />
            {part === 'messages' && <AgentMessages key={agent.id} agent={agent} head={head} />}
            {part === 'settings' && <AgentSettings id={id} />}
            {part === 'schedules' && <ScheduleList agent={id} />}
          </>
        )}
      </Shown>
    </section>
  )
}

/** Changes whenever the log of the agent does. */
function headOf(
  sessions: readonly { readonly id: string; readonly head: number; readonly status: string }[] | undefined,
  id: string,
): string {
  const session = sessions?.find((one) => one.id === id)
  return session ? `${session.head} ${session.status}` : ''
}

const stateWords: Readonly<Record<string, string>> = {
  submitted: 'has a message',
  working: 'works',
  'input-required': 'waits for you',
  completed: 'idle',
  failed: 'failed',
  canceled: 'stopped',
  unknown: 'idle',
}
