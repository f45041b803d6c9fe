import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteModel, visibleName } from '../libero.ts'
import { dollars, shortCount } from '../parts/numbers.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { WideTable } from '../parts/wide-table.tsx'

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
          <SearchBox what={`${models.length} models`} onText={setText} />
          <ProblemLine problem={problem} />
          <WideTable
            label="Models"
            head={['Model', 'Provider', 'Context', 'Input, per million', 'Output', 'Use']}
            texts={['Provider', 'Use']}
          >
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
          </WideTable>
        </>
      )}
    </Shown>
  )
}
