import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { visibleName, visibleText } from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { readValue, type Setting, settingsIn } from './setting-values.ts'

/** All settings with where each comes from; a change counts from the next run on. */
export function ValuesPanel() {
  const { client } = usePage()
  const answer = useAnswer(async () => settingsIn(await client.settings()), [])
  return (
    <Shown answer={answer} what="settings">
      {({ settings, warnings }) => (
        <>
          {warnings.map((warning) => (
            <p key={warning} class="problem-line">
              {visibleText(warning)}
            </p>
          ))}
          <ul class="item-list">
            {settings.map((setting) => (
              <Value key={setting.key} setting={setting} onChanged={answer.again} />
            ))}
          </ul>
        </>
      )}
    </Shown>
  )
}

function Value({ setting, onChanged }: { readonly setting: Setting; readonly onChanged: () => void }) {
  const { client } = usePage()
  const { key, value, from } = setting
  const [isOpen, setOpen] = useState(false)
  const { isBusy, problem, run } = useAction()
  const isSet = value !== null && value !== undefined
  const shown = typeof value === 'string' ? value : JSON.stringify(value, null, typeof value === 'object' ? 2 : 0)
  const save = async (next: unknown): Promise<void> => {
    if (!(await run(() => client.changeSettings({ [key]: next })))) return
    setOpen(false)
    onChanged()
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    void save(readValue(String(new FormData(event.currentTarget as HTMLFormElement).get('value'))))
  }
  return (
    <li>
      <div class="item-head">
        <strong>
          <code>{visibleName(key)}</code>
        </strong>
        <span class="setting-value">
          {isSet ? <code class="lines">{visibleText(shown!)}</code> : <span class="facts">not set</span>}
        </span>
        <span class="facts">{isSet && visibleName(from)}</span>
        <span class="row-buttons">
          <button type="button" aria-expanded={isOpen} aria-label={`Change ${key}`} onClick={() => setOpen(!isOpen)}>
            Change
          </button>
        </span>
      </div>
      {isOpen && (
        <form class="key-form" onSubmit={submit}>
          <label class="field wide">
            <span>A text, a number, true or false, or JSON</span>
            <textarea
              name="value"
              class="mono"
              rows={typeof value === 'object' && isSet ? 6 : 1}
              spellcheck={false}
              defaultValue={isSet ? shown : ''}
            />
          </label>
          <span class="row-buttons">
            <button type="submit" class="primary" disabled={isBusy}>
              Save
            </button>
            <button type="button" disabled={isBusy} onClick={() => save(null)}>
              Back to the default
            </button>
          </span>
        </form>
      )}
      <ProblemLine problem={problem} />
    </li>
  )
}
