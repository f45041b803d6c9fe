import { Dialog } from '../parts/dialog.tsx'

const keys: readonly (readonly [where: string, rows: readonly (readonly [keys: string, does: string])[]])[] = [
  [
    'Everywhere',
    [
      ['Ctrl K', 'go to a session, a screen or a command'],
      ['?', 'these keys'],
      ['Tab, Shift Tab', 'to the next or previous part; the first one skips to the content'],
      ['Esc', 'closes what is open, topmost first'],
    ],
  ],
  [
    'In a conversation',
    [
      ['Enter', 'sends; steers while the agent works'],
      ['Alt Enter', 'queues for after the run'],
      ['Shift Enter', 'breaks the line'],
      ['↑, ↓', 'on the first and last line: what was sent before'],
      ['@, /', 'completes a file, a command'],
      ['Esc', 'stops the run'],
      ['Ctrl F', 'finds in the whole session; again: that of the browser'],
    ],
  ],
  [
    'On a card that waits, while the card itself has the focus',
    [
      ['y', 'allows once'],
      ['n', 'denies'],
      ['Ctrl Enter', 'sends a reason or an answer'],
    ],
  ],
]

/** The keys of the page. */
export function KeyHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog label="Keys" onClose={onClose}>
      <div class="item-head">
        <h2 class="dialog-title">Keys</h2>
        <span class="row-buttons">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </span>
      </div>
      {keys.map(([where, rows]) => (
        <section key={where}>
          <h3>{where}</h3>
          <dl class="key-list">
            {rows.map(([name, does]) => (
              <div key={name}>
                <dt>
                  <kbd>{name}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}
