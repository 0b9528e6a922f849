/* SPDX-License-Identifier: Apache-2.0
 * Nothing of it is needed on a host. */
