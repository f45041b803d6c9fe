import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { tokenRing, visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { Ring as TokenRing } from '../session/ring.tsx'

/** What fills the context of a session. */
export function ContextRing() {
  const { sessions: list } = usePage()
  const sessions = useModel(list, (state) => state.sessions) ?? []
  const [chosen, setChosen] = useState<string>()
  const id = chosen ?? sessions[0]?.id
  if (id === undefined) return null
  return (
    <section>
      <h2>What fills the context</h2>
      <label class="field usage-session">
        <span>Session</span>
        <select value={id} onChange={(event) => setChosen(event.currentTarget.value)}>
          {sessions.map((session) => (
            <option key={session.id} value={session.id}>
              {visibleName(session.title ?? session.id)}
            </option>
          ))}
        </select>
      </label>
      <Ring id={id} />
    </section>
  )
}

function Ring({ id }: { readonly id: string }) {
  const { client } = usePage()
  const answer = useAnswer(() => client.sessions.context(id), [id])
  return (
    <Shown answer={answer} what="context of a session">
      {({ counts, total, limit }) => (
        <TokenRing ring={tokenRing({ tools: 0, ...counts, total, ...(limit !== undefined && { limit }) })} />
      )}
    </Shown>
  )
}
