// Prints the template of an app with nothing but the construct: standard input has the properties.
import { readFileSync } from 'node:fs';
import { App, DefaultStackSynthesizer, Stack } from 'aws-cdk-lib';
import { Dormouse, DormouseProps } from '../lib';

const app = new App({ outdir: process.env.DORMOUSE_ASSEMBLY, analyticsReporting: false });
const stack = new Stack(app, 'try', { synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }) });
new Dormouse(stack, 'Dormouse', JSON.parse(readFileSync(0, 'utf8')) as DormouseProps);
process.stdout.write(JSON.stringify(app.synth().getStackByName('try').template));
