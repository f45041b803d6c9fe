import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { Segments } from './segments.tsx'

interface PanelsProps {
  readonly title: string
  readonly panels: readonly (readonly [name: string, Panel: ComponentType])[]
}

/** A screen of several parts, one of which is shown. */
export function Panels({ title, panels }: PanelsProps) {
  const [name, setName] = useState(panels[0]![0])
  const [, Panel] = panels.find(([one]) => one === name)!
  return (
    <section class="sheet">
      <div class="sheet-head">
        <h1>{title}</h1>
        <Segments label="Part" values={panels.map(([one]) => [one, one] as const)} value={name} onChange={setName} />
      </div>
      <Panel />
    </section>
  )
}
