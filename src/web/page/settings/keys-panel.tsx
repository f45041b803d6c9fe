import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteProvider, visibleName } from '../libero.ts'
import { ConfirmButton } from '../parts/confirm-button.tsx'
import { WebLink } from '../parts/markdown.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** Keys of providers. They are written to the server and never read back. */
export function KeysPanel() {
  const { client } = usePage()
  const answer = useAnswer(() => client.providers(), [])
  const [text, setText] = useState('')
  return (
    <Shown answer={answer} what="keys">
      {(providers) => (
        <>
          <SearchBox what={`${providers.length} providers`} onText={setText} />
          <ul class="item-list">
            {[...providers]
              .filter(({ name, needsKey, key }) => (needsKey || key) && name.toLowerCase().includes(text))
              .sort((a, b) => Number(b.key !== undefined) - Number(a.key !== undefined))
              .map((provider) => (
                <Provider key={provider.name} provider={provider} onChanged={answer.again} />
              ))}
          </ul>
        </>
      )}
    </Shown>
  )
}

function keyWords({ key, variable, expires }: RemoteProvider): string {
  if (key === 'variable') return `from the variable ${variable ?? ''}`
  if (key === 'stored') return 'stored on the server'
  if (key === 'login')
    return expires === undefined ? 'logged in' : `logged in until ${new Date(expires).toLocaleString()}`
  return 'no key'
}

function Provider({ provider, onChanged }: { readonly provider: RemoteProvider; readonly onChanged: () => void }) {
  const { client } = usePage()
  const { name, key, keyPage } = provider
  const [isOpen, setOpen] = useState(false)
  const { isBusy, problem, run } = useAction()
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const data = new FormData(form)
    const isSaved = await run(() => client.setKey(name, String(data.get('key')), { check: data.get('check') !== null }))
    form.reset() // the key stays nowhere in the page
    if (!isSaved) return
    setOpen(false)
    onChanged()
  }
  const remove = async (): Promise<void> => {
    if (await run(() => client.deleteKey(name))) onChanged()
  }
  return (
    <li>
      <div class="item-head">
        <strong>{visibleName(name)}</strong>
        <span class="tag" data-kind={key ? 'good' : ''}>
          {keyWords(provider)}
        </span>
        <span class="row-buttons">
          {keyPage !== undefined && <WebLink href={keyPage}>Get a key</WebLink>}
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {key === 'stored' ? 'Replace' : 'Add a key'}
          </button>
          {key === 'stored' && <ConfirmButton label="Remove" sure="Remove now" disabled={isBusy} onConfirm={remove} />}
        </span>
      </div>
      {isOpen && (
        <form class="key-form" onSubmit={save}>
          <label class="field">
            <span>{`Key of ${visibleName(name)}`}</span>
            <input name="key" type="password" required autocomplete="off" spellcheck={false} />
          </label>
          <label class="check">
            <input name="check" type="checkbox" defaultChecked /> Ask the provider first whether it is right
          </label>
          <button type="submit" class="primary" disabled={isBusy}>
            Store the key
          </button>
        </form>
      )}
      <ProblemLine problem={problem} />
    </li>
  )
}
