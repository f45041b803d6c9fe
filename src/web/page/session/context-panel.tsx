import { useEffect, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { tokenRing } from '../libero.ts'
import type { DraftModel } from '../model/draft-model.ts'
import { useModel } from '../model/model.ts'
import { dollars, shortCount } from '../parts/numbers.ts'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { Ring } from './ring.tsx'
import { useSessionScreen } from './session-context.ts'

/** What fills the context of the model, and what the next message will cost. */
export function ContextPanel() {
  const { client } = usePage()
  const { session, draft } = useSessionScreen()
  const calls = useModel(session, ({ view }) => view.usage.calls)
  const usage = useModel(session, ({ view }) => view.usage)
  const written = useSettledDraft(draft)
  const context = useAnswer(
    () => client.sessions.context(session.id, written === '' ? {} : { draft: written }),
    [session.id, calls, written],
  )
  return (
    <>
      <Shown answer={context} what="context">
        {({ total, limit, parts, counts, forecast }) => {
          const ring = tokenRing({ ...counts, total, ...(limit !== undefined && { limit }) } as Parameters<
            typeof tokenRing
          >[0])
          return (
            <>
              <Ring ring={ring} />
              <table class="table">
                <tbody>
                  {parts.map(({ name, tokens }) => (
                    <tr key={name}>
                      <th scope="row">{name}</th>
                      <td class="number">{shortCount(tokens)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {forecast && forecast.most > 0 && (
                <p class="facts">{`The next message costs about ${dollars(forecast.likely)}, at most ${dollars(forecast.most)}.`}</p>
              )}
            </>
          )
        }}
      </Shown>
      <p class="facts">
        {`So far: ${shortCount(usage.input + usage.cacheRead + usage.cacheCreation)} tokens read (${shortCount(usage.cacheRead)} from the cache), ${shortCount(usage.output)} written`}
        {usage.cost !== undefined && usage.cost > 0 && `, ${dollars(usage.cost)}`}
      </p>
    </>
  )
}

/** The text that is being written, once the person pauses: what it costs is asked only then. */
function useSettledDraft(draft: DraftModel | undefined): string {
  const [text, setText] = useState(draft?.state.text ?? '')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const unsubscribe = draft?.subscribe(() => {
      clearTimeout(timer)
      timer = setTimeout(() => setText(draft.state.text), 800)
    })
    return () => {
      clearTimeout(timer)
      unsubscribe?.()
    }
  }, [draft])
  return text
}
