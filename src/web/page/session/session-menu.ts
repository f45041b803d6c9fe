import { navigate, pathOf } from '../frame/router.ts'
import type { PageModel } from '../model/page-model.ts'
import { copyText } from '../parts/copy-button.tsx'
import type { MenuItem } from '../parts/menu.tsx'
import { saveFile } from '../parts/save-file.ts'
import { wordsOf } from '../parts/use-action.ts'
import type { SessionScreenContext } from './session-context.ts'

/** What can be done with a session. `onDialog` opens a dialog. */
export function sessionMenu(
  { client, base }: PageModel,
  { session: { id }, said, find }: SessionScreenContext,
  onDialog: (dialog: 'delete' | 'label') => void,
): readonly MenuItem[] {
  const act = (work: () => Promise<unknown>) => (): void =>
    void work().catch((error: unknown) => said.set({ text: wordsOf(error), isBad: true }))
  const copied = async (text: string): Promise<void> => {
    said.set((await copyText(text)) ? { text: `Copied: ${text}` } : { text: `Copy this: ${text}` })
  }
  return [
    { label: 'Find …', detail: 'Ctrl+F', onChoose: () => find.change({ isOpen: true }) },
    { label: 'Log', onChoose: () => navigate(base, { screen: 'session', id, part: 'log' }) },
    { label: 'Files', onChoose: () => navigate(base, { screen: 'session', id, part: 'files' }) },
    {
      label: 'Fork',
      detail: 'a copy that goes on its own',
      onChoose: act(async () => {
        const fork = await client.sessions.fork(id)
        navigate(base, { screen: 'session', id: fork.id, part: 'chat' })
      }),
    },
    { label: 'Label this point …', onChoose: () => onDialog('label') },
    {
      label: 'Compact',
      detail: 'replace what is old by a summary',
      onChoose: act(async () =>
        said.set({ text: (await client.sessions.runCommand(id, '/compact')).text || 'Compacting.' }),
      ),
    },
    {
      label: 'Export',
      detail: 'JSON Lines',
      onChoose: act(async () => saveFile(`${id}.jsonl`, await client.sessions.export(id))),
    },
    {
      label: 'Copy link',
      onChoose: () => void copied(`${location.origin}${base}${pathOf({ screen: 'session', id, part: 'chat' })}`),
    },
    {
      label: 'Open in the terminal',
      detail: 'copies the command',
      onChoose: () => void copied(`libero --resume ${id}`),
    },
    { label: 'Print', onChoose: () => print() },
    { label: 'Delete …', isBad: true, onChoose: () => onDialog('delete') },
  ]
}
