import { render } from 'preact'
import { ReplayApp } from './replay-app.tsx'
import { readExport, replayClient } from './replay-client.ts'
import '../styles/tokens.css'
import '../styles/base.css'

const lines = document.getElementById('session')!.textContent!.split('\n')
const exported = readExport(lines)
render(<ReplayApp client={replayClient(exported)} id={exported[0].id} />, document.getElementById('page')!)
