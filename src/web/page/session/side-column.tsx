import { useState } from 'preact/hooks'
import { lazy } from '../parts/lazy.tsx'
import { FilesPanel } from './files-panel.tsx'
import { TimeSlider } from './time-slider.tsx'

const ContextPanel = lazy(async () => (await import('./context-panel.tsx')).ContextPanel)
const LogPanel = lazy(async () => (await import('./log-panel.tsx')).LogPanel)

const tabs = ['Files', 'Log', 'Context'] as const

/** The right column: what was changed, what happened, what fills the context. On a narrow page it is a sheet. */
export function SideColumn({ onClose }: { readonly onClose: () => void }) {
  const [tab, setTab] = useState<(typeof tabs)[number]>('Files')
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]!
    setTab(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  return (
    <aside class="side" aria-label="Details">
      <div class="side-head">
        <div class="tabs" role="tablist" aria-label="Details" onKeyDown={move}>
          {tabs.map((name) => (
            <button
              key={name}
              type="button"
              id={`tab-${name}`}
              role="tab"
              aria-selected={tab === name}
              aria-controls="side-panel"
              tabIndex={tab === name ? 0 : -1}
              onClick={() => setTab(name)}
            >
              {name}
            </button>
          ))}
        </div>
        <button type="button" class="quiet side-close" aria-label="Close the details" onClick={onClose}>
          ✕
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard */}
      <div id="side-panel" class="side-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'Files' && <FilesPanel />}
        {tab === 'Log' && <LogPanel />}
        {tab === 'Context' && <ContextPanel />}
      </div>
      <TimeSlider />
    </aside>
  )
}
