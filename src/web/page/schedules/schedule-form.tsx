import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteSchedule, type RemoteScheduleTime, visibleName } from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

interface ScheduleFormProps {
  /** The one that is changed; otherwise a new one is made. */
  readonly schedule?: RemoteSchedule
  readonly agent?: string
  readonly onDone: () => void
}

/** Makes or changes a schedule. */
export function ScheduleForm({ schedule, agent = schedule?.agentId, onDone }: ScheduleFormProps) {
  const { client } = usePage()
  const [type, setType] = useState(schedule?.when.type ?? 'interval')
  const { isBusy, problem, run } = useAction()
  const { value: page } = useAnswer(
    async () => (agent === undefined ? client.agents.list({ limit: 200 }) : undefined),
    [],
  )
  const when = schedule?.when
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string): string => String(form.get(name) ?? '').trim()
    const fields = { when: timeOf(type, text), message: text('message') }
    const hours =
      text('from') !== '' && text('to') !== ''
        ? { from: text('from'), to: text('to'), timeZone: ownTimeZone }
        : undefined
    const maxRuns = text('maxRuns') === '' ? undefined : Number(text('maxRuns'))
    const isDone = await run(() =>
      schedule
        ? client.schedules.update(schedule.id, {
            ...fields,
            name: text('name') === '' ? null : text('name'),
            activeHours: hours ?? null,
            maxRuns: maxRuns ?? null,
          })
        : client.schedules.make({
            ...fields,
            agentId: agent ?? text('agent'),
            ...(text('name') !== '' && { name: text('name') }),
            ...(hours && { activeHours: hours }),
            ...(maxRuns !== undefined && { maxRuns }),
          }),
    )
    if (isDone) onDone()
  }
  return (
    <form class="panel" onSubmit={submit}>
      <div class="fields">
        {agent === undefined && (
          <label class="field">
            <span>Agent</span>
            <select name="agent" required>
              {page?.agents.map(({ id, title }) => (
                <option key={id} value={id}>
                  {visibleName(title ?? id)}
                </option>
              ))}
            </select>
          </label>
        )}
        <label class="field">
          <span>Name (optional)</span>
          <input name="name" defaultValue={schedule?.name ?? ''} />
        </label>
        <label class="field">
          <span>When</span>
          <select value={type} onChange={(event) => setType(event.currentTarget.value as RemoteScheduleTime['type'])}>
            <option value="interval">every so often</option>
            <option value="at">at a time</option>
            <option value="cron">like a calendar (cron)</option>
          </select>
        </label>
        {type === 'interval' && (
          <label class="field">
            <span>Every, in minutes</span>
            <input
              name="minutes"
              type="number"
              min={0.1}
              step="any"
              required
              defaultValue={when?.type === 'interval' ? when.everySeconds / 60 : 60}
            />
          </label>
        )}
        {type === 'at' && (
          <label class="field">
            <span>At</span>
            <input
              name="at"
              type="datetime-local"
              required
              defaultValue={when?.type === 'at' ? localTime(when.at) : ''}
            />
          </label>
        )}
        {type === 'cron' && (
          <label class="field">
            <span>{`Minute, hour, day, month, weekday (${ownTimeZone})`}</span>
            <input
              name="cron"
              class="mono"
              required
              defaultValue={when?.type === 'cron' ? when.expression : '0 9 * * 1-5'}
            />
          </label>
        )}
        <label class="field">
          <span>Not before (optional)</span>
          <input name="from" type="time" defaultValue={schedule?.activeHours?.from ?? ''} />
        </label>
        <label class="field">
          <span>Not after (optional)</span>
          <input name="to" type="time" defaultValue={schedule?.activeHours?.to ?? ''} />
        </label>
        <label class="field">
          <span>At most so many runs (optional)</span>
          <input name="maxRuns" type="number" min={1} defaultValue={schedule?.maxRuns ?? ''} />
        </label>
        <label class="field wide">
          <span>What the agent is told</span>
          <textarea name="message" rows={2} required defaultValue={schedule?.message ?? ''} />
        </label>
      </div>
      <div class="row-buttons form-end">
        <button type="submit" class="primary" disabled={isBusy}>
          {schedule ? 'Save' : 'Make the schedule'}
        </button>
      </div>
      <ProblemLine problem={problem} />
    </form>
  )
}

const ownTimeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

function timeOf(type: RemoteScheduleTime['type'], text: (name: string) => string): RemoteScheduleTime {
  if (type === 'interval') return { type, everySeconds: Math.round(Number(text('minutes')) * 60) }
  if (type === 'at') return { type, at: new Date(text('at')).toISOString() }
  return { type, expression: text('cron'), timeZone: ownTimeZone }
}

/** As an input of type `datetime-local` wants it. */
function localTime(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
