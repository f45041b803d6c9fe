import { useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { pluralize, type RemoteSchedule, visibleName, visibleText } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { ConfirmButton } from '../parts/confirm-button.tsx'
import { Empty } from '../parts/empty.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { ScheduleForm } from './schedule-form.tsx'
import { nextWords, scheduleWords } from './schedule-words.ts'

const examples: readonly Pick<RemoteSchedule, 'when' | 'message'>[] = [
  { when: { type: 'cron', expression: '0 9 * * 1-5' }, message: 'Sum up what changed since yesterday' },
  { when: { type: 'interval', everySeconds: 1800 }, message: 'Look for new issues and answer the simple ones' },
  { when: { type: 'cron', expression: '0 18 * * 5' }, message: 'Write the report of the week' },
]

/** When agents are woken: of all agents, or of one. */
export function ScheduleList({ agent }: { readonly agent?: string }) {
  const { client, sessions } = usePage()
  const changes = useModel(sessions, (state) => state.sessions)
  const answer = useAnswer(() => client.schedules.list(agent === undefined ? {} : { agent }), [agent, changes])
  const [isMaking, setMaking] = useState(false)
  const [example, setExample] = useState<(typeof examples)[number]>()
  const make = (isNow: boolean, like?: typeof example): void => {
    setMaking(isNow)
    setExample(like)
  }
  const Heading = agent === undefined ? 'h1' : 'h2'
  return (
    <>
      <div class="sheet-head">
        <Heading>Schedules</Heading>
        <button type="button" class="primary" aria-expanded={isMaking} onClick={() => make(!isMaking)}>
          New schedule
        </button>
      </div>
      <Shown answer={answer} what="schedules">
        {(schedules) => (
          <>
            {isMaking && (
              <ScheduleForm
                key={example?.message}
                {...{ agent, example }}
                onDone={() => {
                  make(false)
                  answer.again()
                }}
              />
            )}
            {schedules.length === 0 && !isMaking && (
              <Empty
                title="No schedules"
                examples={examples.map(({ when, message }) => `${message} · ${scheduleWords(when)}`)}
                onChoose={(_, i) => make(true, examples[i])}
              >
                <p>
                  A schedule wakes an agent: every so often, at a time, or like a calendar, with a message of yours.
                </p>
              </Empty>
            )}
            <ul class="item-list">
              {schedules.map((schedule) => (
                <Schedule
                  key={schedule.id}
                  schedule={schedule}
                  showsAgent={agent === undefined}
                  onChanged={answer.again}
                />
              ))}
            </ul>
          </>
        )}
      </Shown>
    </>
  )
}

interface ScheduleProps {
  readonly schedule: RemoteSchedule
  readonly showsAgent: boolean
  readonly onChanged: () => void
}

function Schedule({ schedule, showsAgent, onChanged }: ScheduleProps) {
  const { client, sessions } = usePage()
  const agent = useModel(sessions, (state) => state.sessions?.find((one) => one.id === schedule.agentId)?.title)
  const { id, agentId, name, when, message, enabled = true, kind, runs, maxRuns, activeHours, lastRunAt } = schedule
  const [isChanging, setChanging] = useState(false)
  const { isBusy, problem, run } = useAction()
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    if (await run(work)) onChanged()
  }
  const title = name ?? message.split('\n', 1)[0]!.slice(0, 80)
  const facts = [
    scheduleWords(when),
    activeHours && `between ${activeHours.from} and ${activeHours.to}`,
    maxRuns === undefined ? pluralize(runs, 'run') : `${runs} of ${pluralize(maxRuns, 'run')}`,
    lastRunAt !== undefined && `last ${new Date(lastRunAt).toLocaleString()}`,
  ]
  return (
    <li>
      <div class="item-head">
        <strong>{visibleName(title)}</strong>
        {kind !== undefined && kind !== 'task' && <span class="tag">{kind}</span>}
        <span class="tag" data-kind={enabled ? 'good' : 'waits'}>
          {nextWords(schedule, Date.now())}
        </span>
        {showsAgent && <Link to={{ screen: 'agent', id: agentId }}>{visibleName(agent ?? agentId)}</Link>}
        <span class="row-buttons">
          <button
            type="button"
            disabled={isBusy}
            onClick={() => act(() => client.schedules.update(id, { enabled: !enabled }))}
          >
            {enabled ? 'Pause' : 'Go on'}
          </button>
          <button type="button" aria-expanded={isChanging} onClick={() => setChanging(!isChanging)}>
            Change
          </button>
          <ConfirmButton
            label="Delete"
            sure="Delete for good"
            disabled={isBusy}
            onConfirm={() => act(() => client.schedules.delete(id))}
          />
        </span>
      </div>
      <p class="item-text">{facts.filter(Boolean).join(' · ')}</p>
      {title !== message && <p class="item-text lines">{visibleText(message)}</p>}
      <ProblemLine problem={problem} />
      {isChanging && (
        <ScheduleForm
          schedule={schedule}
          onDone={() => {
            setChanging(false)
            onChanged()
          }}
        />
      )}
    </li>
  )
}
