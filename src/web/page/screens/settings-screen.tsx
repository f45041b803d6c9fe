import { Panels } from '../parts/panels.tsx'
import { AboutPanel } from '../settings/about-panel.tsx'
import { KeysPanel } from '../settings/keys-panel.tsx'
import { ModelsPanel } from '../settings/models-panel.tsx'
import { ValuesPanel } from '../settings/values-panel.tsx'
import '../settings/settings.css'

const panels = [
  ['General', AboutPanel],
  ['Models', ModelsPanel],
  ['Keys', KeysPanel],
  ['All settings', ValuesPanel],
] as const

/** This browser, the server, models, keys, and every setting. */
export const SettingsScreen = () => <Panels title="Settings" panels={panels} />
