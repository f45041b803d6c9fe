import { useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { pluralize } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { wordsOf } from '../parts/use-action.ts'
import { isReplay } from './is-replay.ts'
import { useSessionScreen } from './session-context.ts'
import '../styles/time-slider.css'

/** Shows the session as it was after any entry. A fork begins from there. */
export function TimeSlider() {
  const { client, base } = usePage()
  const { session, said } = useSessionScreen()
  const head = useModel(session, (state) => state.head)
  const past = useModel(session, (state) => state.pastSeq)
  const [wanted, setWanted] = useState<number>()
  const isBusy = useRef(false)
  const latest = useRef<number>(undefined)

  /** One at a time; of those in between the last one counts. */
  const look = async (seq: number): Promise<void> => {
    setWanted(seq)
    latest.current = seq
    if (isBusy.current) return
    isBusy.current = true
    try {
      for (let shown: number | undefined; shown !== latest.current; ) {
        shown = latest.current
        await session.lookAt(shown === session.state.head ? undefined : shown)
      }
    } catch (error) {
      said.set({ text: wordsOf(error), isBad: true })
    } finally {
      isBusy.current = false
      setWanted(undefined)
    }
  }
  const fork = async (): Promise<void> => {
    try {
      const copy = await client.sessions.fork(session.id, { at: past! })
      navigate(base, { screen: 'session', id: copy.id, part: 'chat' })
    } catch (error) {
      said.set({ text: wordsOf(error), isBad: true })
    }
  }
  if (head < 2) return null
  return (
    <div class="time-slider">
      <p class="time-head facts">
        <span>
          {past === undefined
            ? `${isReplay ? 'the end' : 'now'} · ${pluralize(head, 'entry')}`
            : `after entry ${past} of ${head}`}
        </span>
        {past !== undefined && !isReplay && (
          <button type="button" class="quiet" onClick={fork}>
            Fork from here
          </button>
        )}
        {past !== undefined && (
          <button type="button" class="quiet" onClick={() => void look(head)}>
            {isReplay ? 'To the end' : 'Back to now'}
          </button>
        )}
      </p>
      <input
        type="range"
        min={1}
        max={head}
        value={wanted ?? past ?? head}
        aria-label="Entry that is shown"
        onInput={(event) => void look(Number(event.currentTarget.value))}
      />
    </div>
  )
}
