import { useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { type RemoteSchedule, type RemoteScheduleTime, visibleName } from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { clockTime, hoursIn, localTime, ownTimeZone, timeIn } from './schedule-fields.ts'

interface ScheduleFormProps {
  /** The one that is changed; otherwise a new one is made. */
  readonly schedule?: RemoteSchedule
  readonly agent?: string | undefined
  /** What a new one begins with. */
  readonly example?: Pick<RemoteSchedule, 'when' | 'message'> | undefined
  readonly onDone: () => void
}

/** Makes or changes a schedule. */
export function ScheduleForm({ schedule, agent = schedule?.agentId, example, onDone }: ScheduleFormProps) {
  const { client } = usePage()
  const { when, message } = schedule ?? example ?? {}
  const [type, setType] = useState(when?.type ?? 'interval')
  const { isBusy, problem, run } = useAction()
  const { value: page } = useAnswer(
    async () => (agent === undefined ? client.agents.list({ limit: 200 }) : undefined),
    [],
  )
  const zone = schedule?.when.type === 'cron' ? (schedule.when.timeZone ?? 'of the server') : ownTimeZone
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string): string => String(form.get(name) ?? '').trim()
    const fields = { when: timeIn(type, text, schedule?.when), message: text('message') }
    const hours = hoursIn(text, schedule?.activeHours)
    const maxRuns = text('maxRuns') === '' ? undefined : Number(text('maxRuns'))
    const isDone = await run(() =>
      schedule
        ? client.schedules.update(schedule.id, {
            message: fields.message,
            ...(!isSame(fields.when, schedule.when) && { when: fields.when }),
            name: text('name') === '' ? null : text('name'),
            ...(!isSame(hours, schedule.activeHours) && { activeHours: hours ?? null }),
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
  if (page?.agents.length === 0)
    return (
      <p class="panel">
        A schedule wakes an agent, and there is none yet: <Link to={{ screen: 'agents' }}>make one</Link> first.
      </p>
    )
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
            <span>{`Minute, hour, day, month, weekday (${zone})`}</span>
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
          <input name="from" type="time" defaultValue={clockTime(schedule?.activeHours?.from)} />
        </label>
        <label class="field">
          <span>Not after (optional)</span>
          <input name="to" type="time" defaultValue={clockTime(schedule?.activeHours?.to)} />
        </label>
        <label class="field">
          <span>At most so many runs (optional)</span>
          <input name="maxRuns" type="number" min={1} defaultValue={schedule?.maxRuns ?? ''} />
        </label>
        <label class="field wide">
          <span>What the agent is told</span>
          <textarea name="message" rows={2} required defaultValue={message ?? ''} />
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

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
