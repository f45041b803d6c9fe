import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteModel, visibleName } from '../libero.ts'
import { dollars, shortCount } from '../parts/numbers.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** The models that can be chosen, with their prices; one of them is used unless a session chooses another. */
export function ModelsPanel() {
  const { client } = usePage()
  const answer = useAnswer(() => client.models(), [])
  const [text, setText] = useState('')
  const { isBusy, problem, run } = useAction()
  const use = async ({ id, provider }: RemoteModel): Promise<void> => {
    if (await run(() => client.changeSettings({ provider, model: id }))) answer.again()
  }
  return (
    <Shown answer={answer} what="models">
      {(models) => (
        <>
          <div class="filters">
            <input
              type="search"
              placeholder={`Search ${models.length} models`}
              aria-label="Search models"
              onInput={(event) => setText(event.currentTarget.value.trim().toLowerCase())}
            />
          </div>
          <ProblemLine problem={problem} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
          <section class="table-scroll" tabIndex={0} aria-label="Models">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">Model</th>
                  <th scope="col">Provider</th>
                  <th scope="col" class="number">
                    Context
                  </th>
                  <th scope="col" class="number">
                    Input, per million
                  </th>
                  <th scope="col" class="number">
                    Output
                  </th>
                  <th scope="col">Use</th>
                </tr>
              </thead>
              <tbody>
                {models
                  .filter(({ id, provider }) => `${provider} ${id}`.toLowerCase().includes(text))
                  .slice(0, 300)
                  .map((model) => (
                    <tr key={`${model.provider}/${model.id}`}>
                      <th scope="row">
                        {visibleName(model.id)} {model.isDeprecated && <span class="tag">deprecated</span>}
                      </th>
                      <td>{visibleName(model.provider)}</td>
                      <td class="number">{model.contextWindow === undefined ? '' : shortCount(model.contextWindow)}</td>
                      <td class="number">{model.inputPrice === undefined ? '' : dollars(model.inputPrice)}</td>
                      <td class="number">{model.outputPrice === undefined ? '' : dollars(model.outputPrice)}</td>
                      <td>
                        {model.isDefault ? (
                          <span class="tag" data-kind="good">
                            used
                          </span>
                        ) : (
                          <button type="button" disabled={isBusy} onClick={() => use(model)}>
                            Use
                          </button>
                        )}
                      </td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </section>
        </>
      )}
    </Shown>
  )
}
