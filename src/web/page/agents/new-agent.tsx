import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { visibleText } from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** Makes an agent from a definition; `message` is what it is told first, until the person changes that. */
export function NewAgent({ message = '' }: { readonly message?: string }) {
  const { client, base } = usePage()
  const answer = useAnswer(() => client.agents.definitions(), [])
  const [chosen, setChosen] = useState<string>()
  const { isBusy, problem, run } = useAction()
  const make = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string): string => String(form.get(name) ?? '').trim()
    void run(async () => {
      const { id } = await client.agents.make({
        definition: text('definition'),
        ...(text('name') !== '' && { name: text('name') }),
        ...(text('message') !== '' && { message: text('message') }),
      })
      navigate(base, { screen: 'agent', id })
    })
  }
  return (
    <Shown answer={answer} what="definitions of agents">
      {(definitions) => {
        if (definitions.length === 0)
          return <p class="facts">There is no definition of an agent yet; docs/workflow.md says how to write one.</p>
        const definition = definitions.find(({ id }) => id === chosen) ?? definitions[0]!
        return (
          <form class="panel" onSubmit={make}>
            <div class="fields">
              <label class="field">
                <span>Made from</span>
                <select
                  name="definition"
                  value={definition.id}
                  onChange={(event) => setChosen(event.currentTarget.value)}
                >
                  {definitions.map(({ id, name }) => (
                    <option key={id} value={id}>
                      {visibleText(name ?? id)}
                    </option>
                  ))}
                </select>
              </label>
              <label class="field">
                <span>Name (optional)</span>
                <input name="name" maxLength={200} />
              </label>
              <label class="field wide">
                <span>First message (optional)</span>
                <textarea name="message" rows={2} defaultValue={message} />
              </label>
            </div>
            {definition.description !== undefined && <p class="facts">{visibleText(definition.description)}</p>}
            {definition.heartbeat && definition.heartbeat.enabled !== false && (
              <p class="facts">{`Wakes by itself every ${definition.heartbeat.intervalSeconds} s.`}</p>
            )}
            <button type="submit" class="primary" disabled={isBusy}>
              Make the agent
            </button>
            <ProblemLine problem={problem} />
          </form>
        )
      }}
    </Shown>
  )
}
